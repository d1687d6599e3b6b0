# The VNF manager as a static binary, run by an unprivileged user. Python is for the user data scripts of VNF packages, which run confined.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /vnfm . \
    && mkdir -p /data && chown 65532:65532 /data

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates python3 python3-yaml \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /vnfm /vnfm
# Holds the key that seals the secrets in the database: keep the volume, and a copy of it apart from the database's backups.
COPY --from=build --chown=65532:65532 /data /data
VOLUME /data
USER 65532:65532
ENV VNFM_DATA_DIR=/data VNFM_SECRET_KEY_FILE=/data/secret.key
EXPOSE 9890
ENTRYPOINT ["/vnfm"]
CMD ["serve"]
