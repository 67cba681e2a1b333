// Package dnstest provides a DNS server for tests.
package dnstest

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
)

// Serve starts a DNS server for TCP until the end of the test, and returns its address. lookup returns the addresses of
// a name, or nil if the name does not exist.
func Serve(tb testing.TB, lookup func(name string) []string) string {
	tb.Helper()
	listener := harness.Try(new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0"))(tb)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() { respondOnce(connection, lookup) })
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		work.Wait()
	})
	return listener.Addr().String()
}

// respondOnce responds to the first query of a TCP connection.
func respondOnce(connection net.Conn, lookup func(name string) []string) {
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(time.Second))
	var size uint16
	if binary.Read(connection, binary.BigEndian, &size) != nil {
		return
	}
	packet := make([]byte, size)
	if _, err := io.ReadFull(connection, packet); err != nil {
		return
	}
	response := respond(packet, lookup)
	length := uint16(len(response)) //nolint:gosec // Pack limits it
	_, _ = connection.Write(append(binary.BigEndian.AppendUint16(nil, length), response...))
}

func respond(packet []byte, lookup func(name string) []string) []byte {
	var query dnsmessage.Message
	if query.Unpack(packet) != nil || len(query.Questions) != 1 {
		return nil
	}
	question := query.Questions[0]
	answer := dnsmessage.Message{Questions: query.Questions}
	answer.ID, answer.Response, answer.RecursionAvailable = query.ID, true, true
	addresses := lookup(strings.TrimSuffix(question.Name.String(), "."))
	if addresses == nil {
		answer.RCode = dnsmessage.RCodeNameError
	}
	for _, address := range addresses {
		addr := netip.MustParseAddr(address)
		header := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET}
		switch {
		case addr.Is4() && question.Type == dnsmessage.TypeA:
			answer.Answers = append(answer.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}})
		case addr.Is6() && question.Type == dnsmessage.TypeAAAA:
			answer.Answers = append(answer.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	packed, _ := answer.Pack()
	return packed
}
