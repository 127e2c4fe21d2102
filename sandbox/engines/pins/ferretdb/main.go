// Program ferretdb serves MongoDB's protocol from SQLite files, with logins. It is FerretDB's own code around a main function of ours: the
// project's own needs files that its Go module lacks, and the package that it offers for embedding has no logins.
package main

import (
	"context"
	"flag"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/FerretDB/FerretDB/internal/clientconn"
	"github.com/FerretDB/FerretDB/internal/clientconn/connmetrics"
	"github.com/FerretDB/FerretDB/internal/handler/registry"
	"github.com/FerretDB/FerretDB/internal/util/password"
	"github.com/FerretDB/FerretDB/internal/util/state"
)

func main() {
	listen := clientconn.NewListenerOpts{Mode: clientconn.NormalMode}
	flag.StringVar(&listen.Unix, "socket", "", "path of a socket")
	flag.StringVar(&listen.TCP, "tcp", "", "address for connections without TLS")
	flag.StringVar(&listen.TLS, "tls", "", "address for connections with TLS")
	flag.StringVar(&listen.TLSCertFile, "cert", "", "file of the certificate")
	flag.StringVar(&listen.TLSKeyFile, "key", "", "file of its key")
	url := flag.String("sqlite", "", "URL of a folder of SQLite files, such as file:documents/")
	user := flag.String("user", "", "first login, in the database admin; FERRETDB_PASSWORD has its password")
	flag.Parse()
	if err := serve(listen, *url, *user, os.Getenv("FERRETDB_PASSWORD")); err != nil {
		log.Fatal(err)
	}
}

// serve ends in order when the process is told to end.
func serve(listen clientconn.NewListenerOpts, url, user, secret string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// The state is kept in memory only, and says that nothing is reported to the project.
	provider, err := state.NewProvider("")
	if err != nil {
		return err
	}
	if err = provider.Update(func(s *state.State) { s.DisableTelemetry(); s.TelemetryLocked = true }); err != nil {
		return err
	}
	listen.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	listen.Metrics = connmetrics.NewListenerMetrics()
	handler, closeBackend, err := registry.NewHandler("sqlite", &registry.NewHandlerOpts{
		Logger:        listen.Logger,
		ConnMetrics:   listen.Metrics.ConnMetrics,
		StateProvider: provider,
		TCPHost:       listen.TCP,
		SetupDatabase: "admin",
		SetupUsername: user,
		SetupPassword: password.WrapPassword(secret),
		SetupTimeout:  30 * time.Second,
		SQLiteURL:     url,
		TestOpts: registry.TestOpts{
			EnableNewAuth:           true,
			CappedCleanupInterval:   time.Minute,
			CappedCleanupPercentage: 10,
			BatchSize:               100,
			MaxBsonObjectSizeBytes:  16 * 1024 * 1024,
		},
	})
	if err != nil {
		return err
	}
	defer closeBackend()
	listen.Handler = handler
	listener, err := clientconn.Listen(&listen)
	if err != nil {
		return err
	}
	listener.Run(ctx)
	return nil
}
