# syntax=docker/dockerfile:1
# A static binary on an empty image.
#
#   docker build -t webhook-sidecar .                       compiles inside
#   make image                                              compiles outside, then packs (--target prebuilt); needs no base image
#
# In a pod the root file system can be read-only: nothing is written to it.
ARG GO_VERSION=1.26.9

FROM golang:${GO_VERSION}-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -pgo=bench/profile/sidecar.pgo -tags=grpcnotrace -trimpath -ldflags='-s -w' -o /sidecar ./cmd/sidecar

# From what `make image` has put into bin: a binary for the image's platform, and the certificate authorities.
FROM scratch AS prebuilt
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="webhook-sidecar" \
      org.opencontainers.image.description="Makes webhook retries safe for unmodified applications" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY bin/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY bin/sidecar /sidecar
USER 65532:65532
EXPOSE 8700 8702
STOPSIGNAL SIGTERM
ENTRYPOINT ["/sidecar"]
CMD ["run"]

FROM scratch AS image
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="webhook-sidecar" \
      org.opencontainers.image.description="Makes webhook retries safe for unmodified applications" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# The authorities are for TLS to PostgreSQL, Redis and the telemetry collector.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /sidecar /sidecar
# Numeric, so that runAsNonRoot can be checked.
USER 65532:65532
EXPOSE 8700 8702
STOPSIGNAL SIGTERM
ENTRYPOINT ["/sidecar"]
CMD ["run"]
