package talkinghead

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

const (
	maxChunks = 100_000  // of a picture, which are searched for EXIF
	maxExif   = 64 << 10 // bytes
)

// orientationOf returns the orientation of a picture by its EXIF, from 1, which is upright, to 8, and where the pixels
// of a JPEG begin. Of others, that is 0.
func orientationOf(file io.ReaderAt) (orientation int, pixels int64) {
	orientation = 1
	var head [8]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		return orientation, 0
	}
	format, at := head[0], int64(8) // of PNG
	switch format {
	case 0xff: // JPEG
		at = 2
	case 'R': // WebP
		at = 12
	}
	for range maxChunks {
		if _, err := file.ReadAt(head[:], at); err != nil {
			break
		}
		name, content, size, end := string(head[4:]), int64(8), int64(binary.BigEndian.Uint32(head[:])), int64(4)
		switch format {
		case 0xff:
			name, content, size, end = string(head[:2]), 4, int64(binary.BigEndian.Uint16(head[2:]))-2, 0
		case 'R':
			size = int64(binary.LittleEndian.Uint32(head[4:]))
			name, end = string(head[:4]), size%2
		}
		switch name {
		case "\xff\xda":
			return orientation, at
		case "\xff\xe1", "EXIF", "eXIf":
			exif := make([]byte, min(max(size, 0), maxExif))
			n, _ := file.ReadAt(exif, at+content) // what is missing is not found
			if found := orientationIn(exif[:n]); found > 0 && orientation == 1 {
				orientation = found
			}
		}
		at += content + size + end
	}
	return orientation, 0
}

// hasEnd reports whether the pixels of a JPEG have the marker of their end. ffmpeg paints those that are missing green.
func hasEnd(pixels io.Reader) bool {
	for buffered := bufio.NewReader(pixels); ; {
		switch _, err := buffered.ReadSlice(0xff); {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return false
		}
		switch next, _ := buffered.ReadByte(); next { // 0 at the end
		case 0xd9:
			return true
		case 0xff:
			_ = buffered.UnreadByte()
		}
	}
}

// orientationIn returns the orientation in EXIF, or 0 if there is none.
func orientationIn(exif []byte) int {
	exif = bytes.TrimPrefix(exif, []byte("Exif\x00\x00"))
	if len(exif) < 8 {
		return 0
	}
	var order binary.ByteOrder = binary.BigEndian
	if exif[0] == 'I' {
		order = binary.LittleEndian
	}
	start := uint64(order.Uint32(exif[4:]))
	if order.Uint16(exif[2:]) != 42 || start+2 > uint64(len(exif)) {
		return 0
	}
	entries := exif[start+2:]
	for range order.Uint16(exif[start:]) {
		if len(entries) < 12 {
			break
		}
		if v := int(order.Uint16(entries[8:])); order.Uint16(entries) == 0x0112 && v > 0 && v < len(turns) {
			return v
		}
		entries = entries[12:]
	}
	return 0
}
