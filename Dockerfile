# syntax=docker/dockerfile:1
# A static binary on an empty image. Build: docker build -t webhook-sidecar .
FROM golang:1.26.9-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /sidecar ./cmd/sidecar

FROM scratch
LABEL org.opencontainers.image.title="webhook-sidecar" \
      org.opencontainers.image.description="Makes webhook retries safe for unmodified applications" \
      org.opencontainers.image.licenses="Apache-2.0"
# The roots are for TLS to PostgreSQL, Redis and the telemetry collector.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /sidecar /sidecar
# Numeric, so that runAsNonRoot can be checked. Nothing is written to the image's file system.
USER 65532:65532
EXPOSE 8700 8702
STOPSIGNAL SIGTERM
ENTRYPOINT ["/sidecar"]
CMD ["run"]
