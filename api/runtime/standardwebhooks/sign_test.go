package standardwebhooks_test

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

	"github.com/avatarstudio/avatarstudio/api/runtime/standardwebhooks"
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

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustSecret(t testing.TB, text string) standardwebhooks.Secret {
	t.Helper()
	secret, err := standardwebhooks.ParseSecret(text)
	check(t, err)
	return secret
}

func signed(id, timestamp, signature string) http.Header {
	header := http.Header{}
	for name, value := range map[string]string{
		standardwebhooks.HeaderID: id, standardwebhooks.HeaderTimestamp: timestamp, standardwebhooks.HeaderSignature: signature,
	} {
		if value != "" {
			header.Set(name, value)
		}
	}
	return header
}

// Sign refuses what Verify would refuse, and leaves the header unchanged.
func TestSign_refusesWhatVerifyRefuses(t *testing.T) {
	t.Parallel()
	secret := standardwebhooks.NewSecret()
	for name, test := range map[string]struct {
		id      string
		secrets []standardwebhooks.Secret
		err     error
	}{
		"16 secrets":        {"id", slices.Repeat([]standardwebhooks.Secret{secret}, 16), nil},
		"17 secrets":        {"id", slices.Repeat([]standardwebhooks.Secret{secret}, 17), standardwebhooks.ErrUnsignable},
		"no secret":         {"id", nil, standardwebhooks.ErrUnsignable},
		"a zero secret":     {"id", []standardwebhooks.Secret{secret, {}}, standardwebhooks.ErrUnsignable},
		"no id":             {"", []standardwebhooks.Secret{secret}, standardwebhooks.ErrUnsignable},
		"a dot":             {"a.b", []standardwebhooks.Secret{secret}, standardwebhooks.ErrUnsignable},
		"a space":           {"a b", []standardwebhooks.Secret{secret}, standardwebhooks.ErrUnsignable},
		"a space at an end": {"a ", []standardwebhooks.Secret{secret}, standardwebhooks.ErrUnsignable},
		"a line break":      {"a\nb", []standardwebhooks.Secret{secret}, standardwebhooks.ErrUnsignable},
		"a DEL":             {"a\x7f", []standardwebhooks.Secret{secret}, standardwebhooks.ErrUnsignable},
	} {
		header := http.Header{}
		err := standardwebhooks.Sign(header, test.id, time.Now(), []byte("{}"), test.secrets...)
		if !errors.Is(err, test.err) || err != nil && len(header) > 0 {
			t.Errorf("%s: error %v, want %v; header %v", name, err, test.err, header)
		}
	}
}

func TestVerify_acceptsOnlySignedMessages(t *testing.T) {
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
		"oldest":                 {signed(specID, specTimestamp, specSignature), specBody, now.Add(standardwebhooks.Tolerance), nil},
		"newest":                 {signed(specID, specTimestamp, specSignature), specBody, now.Add(-standardwebhooks.Tolerance), nil},
		"too old":                {signed(specID, specTimestamp, specSignature), specBody, now.Add(standardwebhooks.Tolerance + 1), standardwebhooks.ErrTimestamp},
		"too new":                {signed(specID, specTimestamp, specSignature), specBody, now.Add(-standardwebhooks.Tolerance - 1), standardwebhooks.ErrTimestamp},
		"far future":             {signed(specID, "9223372036854775807", specSignature), specBody, now, standardwebhooks.ErrTimestamp},
		"far past":               {signed(specID, "-9223372036854775808", specSignature), specBody, now, standardwebhooks.ErrTimestamp},
		"other body":             {signed(specID, specTimestamp, specSignature), specBody + " ", now, standardwebhooks.ErrSignature},
		"other id":               {signed(specID+"x", specTimestamp, specSignature), specBody, now, standardwebhooks.ErrSignature},
		"other timestamp":        {signed(specID, "1614265331", specSignature), specBody, now, standardwebhooks.ErrSignature},
		"same time, other text":  {signed(specID, "+1614265330", specSignature), specBody, now, standardwebhooks.ErrSignature},
		"other signature":        {signed(specID, specTimestamp, "v1,h"+specSignature[4:]), specBody, now, standardwebhooks.ErrSignature},
		"other padding bits":     {signed(specID, specTimestamp, strings.Replace(specSignature, "OE=", "OF=", 1)), specBody, now, standardwebhooks.ErrSignature},
		"other version":          {signed(specID, specTimestamp, "v2"+specSignature[2:]), specBody, now, standardwebhooks.ErrSignature},
		"without version":        {signed(specID, specTimestamp, specSignature[3:]), specBody, now, standardwebhooks.ErrSignature},
		"the 16th signature":     {signed(specID, specTimestamp, many+specSignature), specBody, now, nil},
		"the 17th signature":     {signed(specID, specTimestamp, many+"v1,AAAA "+specSignature), specBody, now, standardwebhooks.ErrSignature},
		"id with a dot":          {signed("a.b", specTimestamp, specSignature), specBody, now, standardwebhooks.ErrUnsigned}, // it could be moved into the timestamp
		"id with a space":        {signed("a b", specTimestamp, specSignature), specBody, now, standardwebhooks.ErrUnsigned},
		"no id":                  {signed("", specTimestamp, specSignature), specBody, now, standardwebhooks.ErrUnsigned},
		"no timestamp":           {signed(specID, "", specSignature), specBody, now, standardwebhooks.ErrUnsigned},
		"no signature":           {signed(specID, specTimestamp, ""), specBody, now, standardwebhooks.ErrUnsigned},
		"timestamp not a number": {signed(specID, "now", specSignature), specBody, now, standardwebhooks.ErrUnsigned},
		"nothing":                {http.Header{}, "", now, standardwebhooks.ErrUnsigned},
	} {
		if err := standardwebhooks.Verify(test.header, []byte(test.body), test.now, secret); !errors.Is(err, test.err) {
			t.Errorf("%s: error %v, want %v", name, err, test.err)
		}
	}
}

// A receiver that knows one of two secrets accepts a webhook signed with both. A receiver that knows both
// accepts a webhook signed with either.
func TestVerify_acceptsEitherSecretDuringRotation(t *testing.T) {
	t.Parallel()
	before, after, foreign := standardwebhooks.NewSecret(), standardwebhooks.NewSecret(), standardwebhooks.NewSecret()
	now, body := time.Now(), []byte("{}")
	for name, test := range map[string]struct {
		signs, knows []standardwebhooks.Secret
		err          error
	}{
		"both, old":        {[]standardwebhooks.Secret{before, after}, []standardwebhooks.Secret{before}, nil},
		"both, new":        {[]standardwebhooks.Secret{before, after}, []standardwebhooks.Secret{after}, nil},
		"old, both":        {[]standardwebhooks.Secret{before}, []standardwebhooks.Secret{after, before}, nil},
		"new, both":        {[]standardwebhooks.Secret{after}, []standardwebhooks.Secret{after, before}, nil},
		"foreign, both":    {[]standardwebhooks.Secret{foreign}, []standardwebhooks.Secret{after, before}, standardwebhooks.ErrSignature},
		"new, none":        {[]standardwebhooks.Secret{after}, nil, standardwebhooks.ErrSignature},
		"new, zero":        {[]standardwebhooks.Secret{after}, []standardwebhooks.Secret{{}}, standardwebhooks.ErrSignature},
		"new, zero or new": {[]standardwebhooks.Secret{after}, []standardwebhooks.Secret{{}, after}, nil},
	} {
		header := http.Header{}
		check(t, standardwebhooks.Sign(header, "id", now, body, test.signs...))
		if err := standardwebhooks.Verify(header, body, now, test.knows...); !errors.Is(err, test.err) {
			t.Errorf("%s: error %v, want %v", name, err, test.err)
		}
	}
}

// Verify accepts what Sign signed, after the headers went over the wire, with each of the secrets.
func FuzzSign(f *testing.F) {
	f.Add(specID, int64(specTime), []byte(specBody), uint8(1))
	f.Add("a.b", int64(0), []byte(nil), uint8(2))
	f.Add(" a", int64(-1), []byte("1.{}"), uint8(0))
	f.Add("\u00e9\u00a0", int64(1)<<62, []byte("\xff"), uint8(16))
	f.Add("\xff\x7f", int64(1), []byte("x"), uint8(17))
	f.Fuzz(func(t *testing.T, id string, seconds int64, body []byte, count uint8) {
		secrets, at := make([]standardwebhooks.Secret, count%20), time.Unix(seconds, 0)
		for i := range secrets {
			secrets[i] = standardwebhooks.NewSecret()
		}
		header := http.Header{}
		if standardwebhooks.Sign(header, id, at, body, secrets...) != nil {
			return
		}
		var wire bytes.Buffer
		check(t, header.Write(&wire))
		wire.WriteString("\r\n")
		received, err := textproto.NewReader(bufio.NewReader(&wire)).ReadMIMEHeader()
		if err != nil {
			t.Fatalf("header %q: %v", header, err)
		}
		for i, secret := range secrets {
			if err := standardwebhooks.Verify(http.Header(received), body, at, secret); err != nil {
				t.Errorf("id %q, secret %d: %v", id, i, err)
			}
		}
	})
}

// Verify accepts only what was signed.
func FuzzVerify(f *testing.F) {
	f.Add(specID, specTimestamp, specSignature, []byte(specBody))
	f.Add(specID, specTimestamp, specSignature, []byte(specBody+"\n"))
	f.Add(specID+".1614265330", "1", specSignature, []byte(specBody))
	f.Add("", "-1", "v1, v1,", []byte(nil))
	f.Add(specID, specTimestamp, "v2,x "+specSignature, []byte(specBody))
	secret := mustSecret(f, specSecret)
	f.Fuzz(func(t *testing.T, id, timestamp, signature string, body []byte) {
		err := standardwebhooks.Verify(signed(id, timestamp, signature), body, time.Unix(specTime, 0), secret)
		same := id == specID && timestamp == specTimestamp && string(body) == specBody && strings.Contains(signature, specSignature)
		if err == nil && !same {
			t.Errorf("accepted %q %q %q %q", id, timestamp, signature, body)
		}
		if id == specID && timestamp == specTimestamp && signature == specSignature && string(body) == specBody && err != nil {
			t.Errorf("refused the original: %v", err)
		}
	})
}
