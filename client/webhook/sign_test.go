package webhook_test

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avatarstudio/avatarstudio/client/webhook"
)

// The example of the Standard Webhooks specification.
const (
	specSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	specID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	specTime      = 1614265330
	specTimestamp = "1614265330"
	specBody      = `{"test": 2432232314}`
	specSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func mustSecret(t testing.TB, text string) webhook.Secret {
	t.Helper()
	secret, err := webhook.ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func signed(id, timestamp, signature string) http.Header {
	header := http.Header{}
	for name, value := range map[string]string{
		webhook.HeaderID: id, webhook.HeaderTimestamp: timestamp, webhook.HeaderSignature: signature,
	} {
		if value != "" {
			header.Set(name, value)
		}
	}
	return header
}

func mustSign(t testing.TB, header http.Header, id string, at time.Time, body []byte, secrets ...webhook.Secret) {
	t.Helper()
	if err := webhook.Sign(header, id, at, body, secrets...); err != nil {
		t.Fatal(err)
	}
}

func TestSign(t *testing.T) {
	t.Parallel()
	header := http.Header{}
	mustSign(t, header, specID, time.Unix(specTime, 999), []byte(specBody), mustSecret(t, specSecret))
	if header.Get("Webhook-Id") != specID || header.Get("Webhook-Timestamp") != specTimestamp || header.Get("Webhook-Signature") != specSignature {
		t.Errorf("headers %v are not those of the specification", header)
	}
}

// Sign refuses what Verify refuses, and leaves the header alone then.
func TestSign_refuses(t *testing.T) {
	t.Parallel()
	secret := webhook.NewSecret()
	for name, test := range map[string]struct {
		id      string
		secrets []webhook.Secret
		err     error
	}{
		"16 secrets":        {"id", slices.Repeat([]webhook.Secret{secret}, 16), nil},
		"17 secrets":        {"id", slices.Repeat([]webhook.Secret{secret}, 17), webhook.ErrUnsignable},
		"no secret":         {"id", nil, webhook.ErrUnsignable},
		"a zero secret":     {"id", []webhook.Secret{secret, {}}, webhook.ErrUnsignable},
		"no id":             {"", []webhook.Secret{secret}, webhook.ErrUnsignable},
		"a dot":             {"a.b", []webhook.Secret{secret}, webhook.ErrUnsignable},
		"a space":           {"a b", []webhook.Secret{secret}, webhook.ErrUnsignable},
		"a space at an end": {"a ", []webhook.Secret{secret}, webhook.ErrUnsignable},
		"a line break":      {"a\nb", []webhook.Secret{secret}, webhook.ErrUnsignable},
		"a DEL":             {"a\x7f", []webhook.Secret{secret}, webhook.ErrUnsignable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			err := webhook.Sign(header, test.id, time.Now(), []byte("{}"), test.secrets...)
			if !errors.Is(err, test.err) || err != nil && len(header) > 0 {
				t.Errorf("error %v, want %v; header %v", err, test.err, header)
			}
		})
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	secret := mustSecret(t, specSecret)
	now := time.Unix(specTime, 0)
	many := strings.Repeat("v1,AAAA ", 15)
	for name, test := range map[string]struct {
		header http.Header
		body   string
		now    time.Time
		err    error
	}{
		"OK":                     {signed(specID, specTimestamp, specSignature), specBody, now, nil},
		"oldest":                 {signed(specID, specTimestamp, specSignature), specBody, now.Add(webhook.Tolerance), nil},
		"newest":                 {signed(specID, specTimestamp, specSignature), specBody, now.Add(-webhook.Tolerance), nil},
		"too old":                {signed(specID, specTimestamp, specSignature), specBody, now.Add(webhook.Tolerance + 1), webhook.ErrTimestamp},
		"too new":                {signed(specID, specTimestamp, specSignature), specBody, now.Add(-webhook.Tolerance - 1), webhook.ErrTimestamp},
		"far future":             {signed(specID, "9223372036854775807", specSignature), specBody, now, webhook.ErrTimestamp},
		"far past":               {signed(specID, "-9223372036854775808", specSignature), specBody, now, webhook.ErrTimestamp},
		"other body":             {signed(specID, specTimestamp, specSignature), specBody + " ", now, webhook.ErrSignature},
		"other id":               {signed(specID+"x", specTimestamp, specSignature), specBody, now, webhook.ErrSignature},
		"other timestamp":        {signed(specID, "1614265331", specSignature), specBody, now, webhook.ErrSignature},
		"same time, other text":  {signed(specID, "+1614265330", specSignature), specBody, now, webhook.ErrSignature},
		"other signature":        {signed(specID, specTimestamp, "v1,h"+specSignature[4:]), specBody, now, webhook.ErrSignature},
		"other padding bits":     {signed(specID, specTimestamp, strings.Replace(specSignature, "OE=", "OF=", 1)), specBody, now, webhook.ErrSignature},
		"other version":          {signed(specID, specTimestamp, "v2"+specSignature[2:]), specBody, now, webhook.ErrSignature},
		"without version":        {signed(specID, specTimestamp, specSignature[3:]), specBody, now, webhook.ErrSignature},
		"the 16th signature":     {signed(specID, specTimestamp, many+specSignature), specBody, now, nil},
		"the 17th signature":     {signed(specID, specTimestamp, many+"v1,AAAA "+specSignature), specBody, now, webhook.ErrSignature},
		"id with a space":        {signed("a b", specTimestamp, specSignature), specBody, now, webhook.ErrUnsigned},
		"no id":                  {signed("", specTimestamp, specSignature), specBody, now, webhook.ErrUnsigned},
		"no timestamp":           {signed(specID, "", specSignature), specBody, now, webhook.ErrUnsigned},
		"no signature":           {signed(specID, specTimestamp, ""), specBody, now, webhook.ErrUnsigned},
		"timestamp not a number": {signed(specID, "now", specSignature), specBody, now, webhook.ErrUnsigned},
		"nothing":                {http.Header{}, "", now, webhook.ErrUnsigned},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := webhook.Verify(test.header, []byte(test.body), test.now, secret); !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
		})
	}
}

// A receiver that knows either secret accepts what is signed with both, and a receiver that
// knows both accepts what is signed with either.
func TestVerify_Rotation(t *testing.T) {
	t.Parallel()
	before, after, foreign := webhook.NewSecret(), webhook.NewSecret(), webhook.NewSecret()
	now, body := time.Now(), []byte("{}")
	for name, test := range map[string]struct {
		signs, knows []webhook.Secret
		err          error
	}{
		"both, old":        {[]webhook.Secret{before, after}, []webhook.Secret{before}, nil},
		"both, new":        {[]webhook.Secret{before, after}, []webhook.Secret{after}, nil},
		"old, both":        {[]webhook.Secret{before}, []webhook.Secret{after, before}, nil},
		"new, both":        {[]webhook.Secret{after}, []webhook.Secret{after, before}, nil},
		"foreign, both":    {[]webhook.Secret{foreign}, []webhook.Secret{after, before}, webhook.ErrSignature},
		"new, none":        {[]webhook.Secret{after}, nil, webhook.ErrSignature},
		"new, zero":        {[]webhook.Secret{after}, []webhook.Secret{{}}, webhook.ErrSignature},
		"new, zero or new": {[]webhook.Secret{after}, []webhook.Secret{{}, after}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			mustSign(t, header, "id", now, body, test.signs...)
			if err := webhook.Verify(header, body, now, test.knows...); !errors.Is(err, test.err) {
				t.Errorf("error %v, want %v", err, test.err)
			}
		})
	}
}

// Moving a dot between id, timestamp and body leaves the signed bytes as they are.
func TestVerify_MovedDot(t *testing.T) {
	t.Parallel()
	secret, body := webhook.NewSecret(), []byte("1614265331.{}")
	header := http.Header{}
	mustSign(t, header, "id", time.Unix(specTime, 0), body, secret)
	header.Set(webhook.HeaderID, "id."+specTimestamp)
	header.Set(webhook.HeaderTimestamp, "1614265331")
	if err := webhook.Verify(header, []byte("{}"), time.Unix(specTime, 0), secret); !errors.Is(err, webhook.ErrUnsigned) {
		t.Errorf("error %v", err)
	}
}

// What is accepted is what was signed.
func FuzzVerify(f *testing.F) {
	f.Add(specID, specTimestamp, specSignature, []byte(specBody))
	f.Add(specID, specTimestamp, specSignature, []byte(specBody+"\n"))
	f.Add(specID+".1614265330", "1", specSignature, []byte(specBody))
	f.Add("", "-1", "v1, v1,", []byte(nil))
	f.Add(specID, specTimestamp, "v2,x "+specSignature, []byte(specBody))
	secret := mustSecret(f, specSecret)
	f.Fuzz(func(t *testing.T, id, timestamp, signature string, body []byte) {
		err := webhook.Verify(signed(id, timestamp, signature), body, time.Unix(specTime, 0), secret)
		same := id == specID && timestamp == specTimestamp && string(body) == specBody && strings.Contains(signature, specSignature)
		if err == nil && !same {
			t.Errorf("accepted %q %q %q %q", id, timestamp, signature, body)
		}
		if id == specID && timestamp == specTimestamp && signature == specSignature && string(body) == specBody && err != nil {
			t.Errorf("refused the original: %v", err)
		}
	})
}

// What Sign accepts, Verify accepts as it comes over the wire, at the same time and with each of the secrets.
func FuzzSign(f *testing.F) {
	f.Add(specID, int64(specTime), []byte(specBody), uint8(1))
	f.Add("a.b", int64(0), []byte(nil), uint8(2))
	f.Add(" a", int64(-1), []byte("1.{}"), uint8(0))
	f.Add("\u00e9\u00a0", int64(1)<<62, []byte("\xff"), uint8(16))
	f.Add("\xff\x7f", int64(1), []byte("x"), uint8(17))
	f.Fuzz(func(t *testing.T, id string, seconds int64, body []byte, count uint8) {
		secrets, at := make([]webhook.Secret, count%20), time.Unix(seconds, 0)
		for i := range secrets {
			secrets[i] = webhook.NewSecret()
		}
		header := http.Header{}
		if webhook.Sign(header, id, at, body, secrets...) != nil {
			return
		}
		var wire bytes.Buffer
		if err := header.Write(&wire); err != nil {
			t.Fatal(err)
		}
		wire.WriteString("\r\n")
		received, err := textproto.NewReader(bufio.NewReader(&wire)).ReadMIMEHeader()
		if err != nil {
			t.Fatalf("header %q: %v", header, err)
		}
		for i, secret := range secrets {
			if err := webhook.Verify(http.Header(received), body, at, secret); err != nil {
				t.Errorf("id %q, secret %d: %v", id, i, err)
			}
		}
	})
}
