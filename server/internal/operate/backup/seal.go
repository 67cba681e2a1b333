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

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/store/keyring"
)

// sealedFor returns the place, in the sense of [keyring.Keyring.Seal], of the key that encrypts a file: the
// installation and the whole key of the file, which has its kind and time. An id has no space.
func sealedFor(installation, key string) string { return "backup " + installation + " " + key }

// sealer encrypts files in the format of age, each with a key of its own that the keyring encrypts. The header of a
// file names the installation.
type sealer struct {
	keys *keyring.Keyring
	// installation is the one whose files are accepted. If it is "", the first file that is opened decides.
	installation string
}

// sealedFile is the [age.Recipient] and the [age.Identity] of the file with a key. A file that was renamed, or is that
// of another installation, cannot be opened.
type sealedFile struct {
	*sealer

	key string
}

const stanzaType = "avatarstudio"

func (f sealedFile) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	sealed := f.keys.Seal(string(fileKey), sealedFor(f.installation, f.key))
	return []*age.Stanza{{Type: stanzaType, Args: []string{f.installation}, Body: []byte(sealed)}}, nil
}

func (f sealedFile) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if len(stanzas) != 1 || stanzas[0].Type != stanzaType || len(stanzas[0].Args) != 1 {
		return nil, age.ErrIncorrectIdentity
	}
	installation, sealed := stanzas[0].Args[0], string(stanzas[0].Body)
	if !keyring.Sealed(sealed) || f.installation != "" && f.installation != installation { // anybody may have written it
		return nil, keyring.ErrChanged
	}
	key, err := f.keys.Open(sealed, sealedFor(installation, f.key))
	if err == nil && f.installation == "" {
		f.installation = installation
	}
	return []byte(key), err
}

// extension returns what the names of encrypted files end with, and "" if files are not encrypted.
func (s *sealer) extension() string {
	if s.keys == nil {
		return ""
	}
	return sealedExtension
}

// accepts reports whether a file may be restored: with keys, only one that was encrypted with them.
func (s *sealer) accepts(key string) bool {
	return s.keys == nil || strings.HasSuffix(key, sealedExtension)
}

// seal encrypts the content of the file with a key, if there are keys.
func (s *sealer) seal(key string, content io.Reader) (io.Reader, error) {
	if s.keys == nil {
		return content, nil
	}
	return age.EncryptReader(content, sealedFile{s, key})
}

// open decrypts the content of a key that ends with the extension of encrypted files.
func (s *sealer) open(key string, content io.Reader) (io.Reader, error) {
	if !strings.HasSuffix(key, sealedExtension) {
		return content, nil
	}
	return decode(content, func(r io.Reader) (io.Reader, error) { return age.Decrypt(bufio.NewReader(r), sealedFile{s, key}) })
}

// decoder reads decoded content. Its error is [store.ErrDamaged] if decoding fails although reading the source does
// not.
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

// pack writes a compressed copy of a file, encrypted for a key.
func (s *sealer) pack(from, to, key string) error {
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
	sealed, err := s.seal(key, plain)
	if err != nil {
		return err
	}
	return create(to, sealed)
}

// unpack writes the file that pack has packed for a key.
func (s *sealer) unpack(key string, content io.Reader, to string) error {
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
