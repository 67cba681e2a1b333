package talkinghead

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// maxExif is how many bytes of EXIF are searched.
const maxExif = 64 << 10

// orientationOfPNG returns the orientation of a PNG file by its EXIF, as orientationIn does. Many versions of ffmpeg do
// not read it.
func orientationOfPNG(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	_, err = r.Discard(8)
	for err == nil {
		var head [8]byte // the size of a chunk, and its name
		if _, err = io.ReadFull(r, head[:]); err != nil {
			break
		}
		size := int64(binary.BigEndian.Uint32(head[:]))
		if string(head[4:]) == "eXIf" {
			exif, err := io.ReadAll(io.LimitReader(r, min(size, maxExif)))
			return orientationIn(exif), err
		}
		_, err = io.CopyN(io.Discard, r, size+4) // and the checksum
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, nil
	}
	return 0, err
}

// orientationIn returns the orientation in EXIF, or 0 if there is none.
func orientationIn(exif []byte) int {
	if len(exif) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.BigEndian
	if exif[0] == 'I' {
		order = binary.LittleEndian
	}
	start := int64(order.Uint32(exif[4:]))
	if start+2 > int64(len(exif)) {
		return 0
	}
	entries := exif[start+2:]
	for range min(int(order.Uint16(exif[start:])), len(entries)/12) {
		if order.Uint16(entries) == 0x0112 {
			return int(order.Uint16(entries[8:]))
		}
		entries = entries[12:]
	}
	return 0
}
