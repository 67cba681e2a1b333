package studio

import (
	"net/url"
	"strings"
)

// Origin returns the scheme, host and port of a webhook URL, which tell one receiver from
// another: in lower case, without a default port and the dot that may end a host. A URL that
// has none is an origin of its own.
func Origin(webhookURL string) string {
	u, err := url.Parse(webhookURL)
	if err != nil || u.Hostname() == "" {
		return webhookURL
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := strings.TrimLeft(u.Port(), "0")
	if port != "" && (u.Scheme != "https" || port != "443") && (u.Scheme != "http" || port != "80") {
		host += ":" + port
	}
	return u.Scheme + "://" + host
}
