# The VNF manager as a static binary, run by an unprivileged user in an image without a shell and without a package manager. Python is there
# for the user data scripts of VNF packages, which run confined; PyYAML is what they use beside the standard library.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /vnfm . \
    && mkdir -p /data && chown 65532:65532 /data

FROM debian:bookworm-slim AS yaml
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-yaml \
    && rm -rf /var/lib/apt/lists/*

# Debian 12 with Python, the certificates of authorities, and the user nonroot (65532).
FROM gcr.io/distroless/python3-debian12:nonroot
COPY --from=yaml /usr/lib/python3/dist-packages/yaml /usr/lib/python3/dist-packages/yaml
COPY --from=build /vnfm /vnfm
# Holds the key that seals the secrets in the database: keep the volume, and a copy of it apart from the database's backups.
COPY --from=build --chown=65532:65532 /data /data
VOLUME /data
USER 65532:65532
ENV VNFM_DATA_DIR=/data VNFM_SECRET_KEY_FILE=/data/secret.key
EXPOSE 9890
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=3 CMD ["/vnfm", "healthcheck"]
ENTRYPOINT ["/vnfm"]
CMD ["serve"]
