package studio

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

const macSize = 16

// mac authenticates parts for one use of a key. It differs from that for every other use and all other parts.
func mac(key []byte, use string, parts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(frame(append([]string{use}, parts...)...)) // never fails
	return mac.Sum(nil)[:macSize]
}

// frame joins parts so that all other parts have another result.
func frame(parts ...string) (framed []byte) {
	for _, part := range parts {
		framed = binary.BigEndian.AppendUint32(framed, uint32(len(part))) //nolint:gosec // parts are short
		framed = append(framed, part...)
	}
	return framed
}
