package talkinghead

import "os"

// maxSpool is the maximum size of a spool in bytes: half a minute of 720p.
const maxSpool = 1 << 30

// A spool keeps the decoded frames of a short video in a file, so that each is decoded once, in whatever order they are
// shown. A nil spool keeps nothing.
type spool struct {
	file *os.File // nil after a frame could not be kept
	size int64    // of a frame in bytes
	next int      // the number of the next frame
}

// newSpool returns a spool for a video in dir, or nil if the video is too long.
func (m *media) newSpool(dir string) *spool {
	size := int64(frameBytes(m.width, m.height))
	if m.picture || !m.video || m.duration*m.rate.float()*float64(size) > maxSpool {
		return nil
	}
	file, err := os.CreateTemp(dir, "frames-")
	if err != nil {
		return nil
	}
	return &spool{file: file, size: size}
}

// add keeps the next frame. If it cannot, such as on a full disk, the spool keeps nothing any more.
func (s *spool) add(f *frame) {
	if s == nil || s.file == nil {
		return
	}
	if int64(s.next+1)*s.size > maxSpool {
		s.close()
	} else if _, err := s.file.WriteAt(f.pix, int64(s.next)*s.size); err != nil {
		s.close()
	}
	s.next++
}

// has reports whether the spool keeps a frame.
func (s *spool) has(index int) bool { return s != nil && s.file != nil && index < s.next }

// read copies a frame that the spool keeps to f.
func (s *spool) read(index int, f *frame) error {
	_, err := s.file.ReadAt(f.pix, int64(index)*s.size)
	return err
}

// close gives the space back.
func (s *spool) close() {
	if s != nil && s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
		s.file = nil
	}
}
