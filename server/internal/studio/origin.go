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

// WithoutQuery returns a webhook URL for people, without its query, fragment and user, which may contain secrets.
func WithoutQuery(webhookURL string) string {
	u, err := url.Parse(webhookURL)
	if err != nil {
		return "?…"
	}
	shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
	if u.RawQuery != "" || u.Fragment != "" {
		shown += "?…"
	}
	return shown
}
