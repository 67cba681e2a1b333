package guide_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/guide"
)

// The index lists each page, and each page has one title.
func TestPages_areThoseOfTheFolder(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := guide.Pages()
	if len(pages) != len(files)-1 {
		t.Errorf("%d pages are listed, and there are the files %q", len(pages), files)
	}
	for _, page := range pages {
		code := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(page.Markdown(), "")
		if titles := strings.Count("\n"+code, "\n# "); titles != 1 || page.Title == "" || page.Summary == "" {
			t.Errorf("%s has %d titles, the title %q and the summary %q", page.Name, titles, page.Title, page.Summary)
		}
	}
}

// Each relative link of the guide and the README leads to a file, and to a heading if it has a fragment.
func TestLinks_resolve(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	anchor := func(heading string) string {
		heading = strings.Map(func(r rune) rune {
			if r == ' ' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
				return r
			}
			return -1
		}, strings.ToLower(heading))
		return strings.ReplaceAll(heading, " ", "-")
	}
	links := 0
	for _, file := range append(files, "../../../README.md") {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(string(content), -1) {
			if strings.HasPrefix(link[1], "https:") {
				continue
			}
			links++
			path, fragment, _ := strings.Cut(link[1], "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			found := false
			if text, err := os.ReadFile(target); err == nil {
				for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
					found = found || anchor(heading[1]) == fragment
				}
			}
			if _, err := os.Stat(target); err != nil || fragment != "" && !found {
				t.Errorf("%s links to %s, which does not exist", file, link[1])
			}
		}
	}
	if links < 20 {
		t.Errorf("there are %d links", links)
	}
}
