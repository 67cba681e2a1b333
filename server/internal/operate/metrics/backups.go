package metrics

import (
	"time"

	"github.com/avatarstudio/avatarstudio/server/internal/studio"
)

// WatchBackups adds the metrics of backups. Call it once.
func (m *Metrics) WatchBackups(status func() studio.BackupStatus) {
	m.collect(func(now scrape) {
		s := status()
		now.gaugef(s.Age(time.Now()).Seconds(), "studiod_backup_age_seconds")
		now.gaugef(s.Every.Seconds(), "studiod_backup_interval_seconds")
		now.gaugef(oneIf(s.Failed), "studiod_backup_failing")
	})
}
