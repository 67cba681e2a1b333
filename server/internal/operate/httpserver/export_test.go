package httpserver

// Held returns what l holds for clients: networks, connections with their requests, and bytes of bodies and responses.
func (l *Listener) Held() [4]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return [4]int64{int64(len(l.networks)), int64(l.open), l.bodyBytes.Load(), l.unread.bytes.Load()}
}
