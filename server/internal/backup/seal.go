package backup

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"

	"github.com/avatarstudio/avatarstudio/server/internal/keyring"
	"github.com/avatarstudio/avatarstudio/server/internal/store"
)

// sealedFor binds the encrypted keys of files to backups. See [keyring.Keyring.Seal].
const sealedFor = "backup"

// sealer encrypts files in the format of age, each with a key of its own that the keyring encrypts.
type sealer struct{ keys *keyring.Keyring }

const stanzaType = "avatarstudio"

// Wrap implements [age.Recipient].
func (s sealer) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	return []*age.Stanza{{Type: stanzaType, Body: []byte(s.keys.Seal(string(fileKey), sealedFor))}}, nil
}

// Unwrap implements [age.Identity].
func (s sealer) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, stanza := range stanzas {
		if stanza.Type == stanzaType {
			if !keyring.Sealed(string(stanza.Body)) { // anybody may have written it
				return nil, keyring.ErrChanged
			}
			key, err := s.keys.Open(string(stanza.Body), sealedFor)
			return []byte(key), err
		}
	}
	return nil, age.ErrIncorrectIdentity
}

// extension returns what the names of encrypted files end with, and "" if files are not encrypted.
func (s sealer) extension() string {
	if s.keys == nil {
		return ""
	}
	return sealedExtension
}

// accepts reports whether a file may be restored: with keys, only one that was encrypted with them.
func (s sealer) accepts(key string) bool {
	return s.keys == nil || strings.HasSuffix(key, sealedExtension)
}

// seal encrypts content, if there are keys.
func (s sealer) seal(content io.Reader) (io.Reader, error) {
	if s.keys == nil {
		return content, nil
	}
	return age.EncryptReader(content, s)
}

// open decrypts the content of a key that ends with the extension of encrypted files.
func (s sealer) open(key string, content io.Reader) (io.Reader, error) {
	if !strings.HasSuffix(key, sealedExtension) {
		return content, nil
	}
	return decode(content, func(r io.Reader) (io.Reader, error) { return age.Decrypt(bufio.NewReader(r), s) })
}

// decoder reads decoded content. Its error is [store.ErrDamaged] if decoding fails although reading the source does not.
type decoder struct {
	source  io.Reader
	failure error // of source
	decoded io.Reader
}

func decode(source io.Reader, open func(io.Reader) (io.Reader, error)) (_ io.Reader, err error) {
	d := &decoder{source: source}
	d.decoded, err = open(readerFunc(d.readSource))
	return d, d.explain(err)
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func (d *decoder) readSource(p []byte) (int, error) {
	n, err := d.source.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		d.failure = err
	}
	return n, err
}

func (d *decoder) Read(p []byte) (int, error) {
	n, err := d.decoded.Read(p)
	return n, d.explain(err)
}

func (d *decoder) explain(err error) error {
	if err == nil || err == io.EOF || d.failure != nil || errors.Is(err, keyring.ErrNoKey) { //nolint:errorlint // decoders return io.EOF itself at their end
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrDamaged, err)
}

// pack writes a compressed and encrypted copy of a file.
func (s sealer) pack(from, to string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	plain, compressed := io.Pipe()
	defer func() { _ = plain.Close() }() // ends the goroutine
	go func() {
		z := gzip.NewWriter(compressed)
		_, err := io.Copy(z, file)
		compressed.CloseWithError(errors.Join(err, z.Close()))
	}()
	sealed, err := s.seal(plain)
	if err != nil {
		return err
	}
	return create(to, sealed)
}

// unpack writes the file that pack has packed. key is the key of the packed file, which has the extensions.
func (s sealer) unpack(key string, content io.Reader, to string) error {
	opened, err := s.open(key, content)
	if err != nil {
		return err
	}
	unzipped, err := decode(opened, func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) })
	if err != nil {
		return err
	}
	return create(to, unzipped)
}

// create writes content to a new file that only its owner can read.
func create(path string, content io.Reader) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
