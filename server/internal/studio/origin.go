package studio

import (
	"net/url"
	"strings"
)

// Origin returns the scheme, host and port of a webhook URL, which identify a receiver. It is in lower case,
// without a default port and without a trailing dot of the host. A URL without a host is returned unchanged.
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
