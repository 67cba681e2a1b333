package main

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/avatarstudio/avatarstudio/api/tools/harness"
	"github.com/avatarstudio/avatarstudio/server/internal/render/protocol"
)

// A file of less than 4 MB that decompresses to 512 MB is a permanent failure, and no process decompresses
// it.
func TestRun_rejectsDecompressionBombs(t *testing.T) {
	t.Parallel()
	harness.SkipShort(t, "it unpacks for seconds")
	harness.Need(t, "ffmpeg", "ffprobe")
	bomb := deflate(t, 512<<20)
	pixels := deflate(t, 200*601)
	picture := func(kind, name string) []byte {
		return bytes.Join([][]byte{
			[]byte("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", "\x00\x00\x00\xc8\x00\x00\x00\xc8\x08\x02\x00\x00\x00"),
			pngChunk(kind, name+"\x00\x00"+bomb), pngChunk("IDAT", pixels), pngChunk("IEND", ""),
		}, nil)
	}
	header := mp4Box("moov", mp4Box("cmov", mp4Box("dcom", "zlib")+mp4Box("cmvd", "\x20\x00\x00\x00"+bomb)))
	for name, content := range map[string][]byte{
		"profile.png": picture("iCCP", "a"),
		"text.png":    picture("zTXt", "a"),
		"header.mp4":  []byte(mp4Box("ftyp", "isom\x00\x00\x00\x00isom") + header),
	} {
		path := filepath.Join(t.TempDir(), name)
		harness.Check(t, os.WriteFile(path, content, 0o600))
		_, err := exchange(t, protocol.Request{
			Kind: protocol.Avatar, Request: []byte(`{}`), Inputs: map[string]string{"base_video_url": path}, OutputDir: t.TempDir(),
		})
		if failure, ok := errors.AsType[*protocol.Error](err); !ok || !failure.Permanent || failure.Reason == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Maxrss is the peak of the largest process that the tests of this package have run.
	var children syscall.Rusage
	harness.Check(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children))
	if children.Maxrss > 512<<10 {
		t.Errorf("a program took %d MiB", children.Maxrss>>10)
	}
}

func deflate(t *testing.T, size int) string {
	t.Helper()
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	for zeros := make([]byte, 601); size > 0; size -= len(zeros) {
		_, _ = w.Write(zeros) // to memory
	}
	harness.Check(t, w.Close())
	return packed.String()
}

func pngChunk(kind, data string) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	chunk = append(chunk, kind+data...)
	return binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
}

func mp4Box(kind, content string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(8+len(content)))) + kind + content
}
