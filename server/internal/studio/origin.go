package studio

import "net/url"

// Origin returns the scheme, host and port of a webhook URL, which identify a receiver: all URLs of a receiver have the
// same, because they are in the form of [Webhooks]. A URL without a host is returned unchanged.
func Origin(webhookURL string) string {
	u, err := url.Parse(webhookURL)
	if err != nil || u.Host == "" {
		return webhookURL
	}
	return u.Scheme + "://" + u.Host
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
