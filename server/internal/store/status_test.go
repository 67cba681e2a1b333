package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/avatarstudio/avatarstudio/server/internal/store"
	"github.com/avatarstudio/avatarstudio/server/internal/testing/studiotest"
)

// Readiness is about every table, except those of migrations and of leases.
func TestStore_CheckWritable_isAboutAllTables(t *testing.T) {
	t.Parallel()
	db := studiotest.Open(t, studiotest.NewPostgres(t))
	check(t, db.CheckWritable(t.Context()))
	all := db.Texts(t, `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()
		AND tablename NOT IN ('compatibility', 'goose_db_version', 'holders', 'lanes') ORDER BY tablename COLLATE "C"`)
	checked := strings.Split(store.WrittenTables(), ", ")
	slices.Sort(checked)
	if !slices.Equal(checked, all) {
		t.Errorf("readiness is about %v, and the tables are %v", checked, all)
	}
}
