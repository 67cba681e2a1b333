package backup

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"

	"filippo.io/age"

	"github.com/avatarstudio/avatarstudio/server/internal/keyring"
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

// open decrypts the content of a key that ends with the extension of encrypted files. The reader fails at the end of an
// incomplete file.
func (s sealer) open(key string, content io.Reader) (io.Reader, error) {
	if !strings.HasSuffix(key, sealedExtension) {
		return content, nil
	}
	return age.Decrypt(bufio.NewReader(content), s)
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
	z, err := gzip.NewReader(opened)
	if err != nil {
		return err
	}
	return create(to, z)
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
