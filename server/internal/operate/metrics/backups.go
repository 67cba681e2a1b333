package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avatarstudio/avatarstudio/server/internal/operate/backup"
)

// WatchBackups adds the metrics of backups. Call it once.
func (m *Metrics) WatchBackups(status func() backup.Status) {
	gauge := func(name, help string, labels prometheus.Labels, value func(backup.Status) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return value(status()) }))
	}
	gauge("studiod_backup_age_seconds", "Time since the latest complete backup, or since the start if there is none.", nil,
		func(s backup.Status) float64 { return s.Age(time.Now()).Seconds() })
	gauge("studiod_backup_interval_seconds", "Interval between backups.", nil,
		func(s backup.Status) float64 { return s.Every.Seconds() })
	gauge("studiod_backup_size_bytes", "Size of the database in the latest complete backup, compressed.", nil,
		func(s backup.Status) float64 { return float64(s.Size) })
	for _, step := range backup.Steps() {
		gauge("studiod_backup_failing", "1 if backups fail at this step.", prometheus.Labels{"step": string(step)}, func(s backup.Status) float64 {
			if s.Failed == step {
				return 1
			}
			return 0
		})
	}
}
