package talkinghead

import "os"

// Limits on a spool, in bytes.
const (
	maxSpool     = 4 << 30 // two minutes of 720p
	maxSpoolFile = 1 << 30 // of each of its files, because a service may limit the size of files
)

// A spool keeps the decoded frames of a short video in files, so that each is decoded once, in whatever order they are
// shown. A nil spool keeps nothing.
type spool struct {
	dir    string
	files  []*os.File
	frames int  // in each file
	next   int  // the number of the next frame
	lost   bool // whether a frame could not be kept
}

// newSpool returns a spool for a video in dir, or nil if the video is too long or dir has too little room.
func (m *media) newSpool(dir string) *spool {
	size := frameBytes(m.width, m.height)
	expected := int64(m.duration*m.rate.float()) * int64(size)
	if m.picture || m.noPictures != nil || expected > maxSpool || !roomFor(dir, expected) {
		return nil
	}
	return &spool{dir: dir, frames: maxSpoolFile / size}
}

// add keeps the next frame. If it cannot, such as on a full disk, the spool keeps nothing any more.
func (s *spool) add(f *frame) {
	if s == nil || s.lost {
		return
	}
	var err error
	if s.next == len(s.files)*s.frames {
		var file *os.File
		if file, err = os.CreateTemp(s.dir, "frames-"); err == nil {
			s.files = append(s.files, file)
		}
	}
	if err == nil {
		file, at := s.place(s.next, f)
		_, err = file.WriteAt(f.pix, at)
	}
	s.next++
	if err != nil || int64(s.next)*int64(len(f.pix)) > maxSpool {
		s.close()
	}
}

// place returns where a frame is kept.
func (s *spool) place(index int, f *frame) (file *os.File, at int64) {
	return s.files[index/s.frames], int64(index%s.frames) * int64(len(f.pix))
}

// has reports whether the spool keeps a frame.
func (s *spool) has(index int) bool { return s != nil && !s.lost && index < s.next }

// read copies a frame that the spool keeps to f.
func (s *spool) read(index int, f *frame) error {
	file, at := s.place(index, f)
	_, err := file.ReadAt(f.pix, at)
	return err
}

// close gives the space back.
func (s *spool) close() {
	if s == nil {
		return
	}
	s.lost = true
	for _, file := range s.files {
		_ = file.Close()
		_ = os.Remove(file.Name())
	}
	s.files = nil
}
