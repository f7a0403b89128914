# syntax=docker/dockerfile:1
#
# The image of gyre, for amd64 and arm64:
#
#   docker buildx build --platform linux/amd64,linux/arm64 --tag REGISTRY/gyre:0.1.0 --push .
#
#   source ──▶ plugins ──▶ code ──▶ the image: /gyre, /plugins, and /compiled, the code of the plugins
#          ──▶ host ────────┘
#
# The program links to the C library as the tested one does, so the image brings that of the Debian that it is compiled on, and nothing
# else: no shell, no package manager, and a user who is not root. It runs with a read-only root file system.

# The images that it is made from are arguments. A tag may be moved; a digest names one image, of all architectures, for ever:
#
#   docker buildx imagetools inspect rust:1.95.0-bookworm --format '{{.Manifest.Digest}}'
#   docker buildx build --build-arg RUST_IMAGE=rust:1.95.0-bookworm@sha256:… --build-arg DEBIAN_IMAGE=… --build-arg BASE_IMAGE=… .
#
# A release is built so: see docs/releasing.md.

# As in rust-toolchain.toml, which would have formatters and linters installed here as well.
ARG RUST_VERSION=1.95.0
ARG RUST_IMAGE=rust:${RUST_VERSION}-bookworm
ARG DEBIAN_IMAGE=debian:bookworm-slim
ARG BASE_IMAGE=gcr.io/distroless/cc-debian12:nonroot

# Compilers run on the machine's own architecture, whatever they compile for.
FROM --platform=$BUILDPLATFORM ${RUST_IMAGE} AS source
ARG RUST_VERSION
ENV RUSTUP_TOOLCHAIN=${RUST_VERSION} CARGO_TERM_COLOR=never
SHELL ["/bin/sh", "-euc"]
WORKDIR /src
COPY . .

# Panics of plugins name the files of dependencies, wherever these are compiled.
FROM source AS plugins
ENV CARGO_TARGET_DIR=/build RUSTFLAGS=--remap-path-prefix=/usr/local/cargo/registry/src=
RUN rustup target add wasm32-wasip2
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,id=gyre-plugins,target=/build \
    mkdir -p /out/plugins; \
    for plugin in echo scheduled-echo xca gateway pod-log website; do \
        cargo rustc --locked --lib --crate-type cdylib --profile plugin --target wasm32-wasip2 --package "$plugin"; \
        cp "/build/wasm32-wasip2/plugin/$(echo "$plugin" | tr - _).wasm" /out/plugins/; \
    done

FROM source AS host
ARG TARGETARCH
ENV CARGO_TARGET_DIR=/build \
    CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=x86_64-linux-gnu-gcc \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
RUN case "$TARGETARCH" in \
        amd64) cpu=x86_64; gcc=gcc-x86-64-linux-gnu ;; \
        arm64) cpu=aarch64; gcc=gcc-aarch64-linux-gnu ;; \
        *) echo "there is no image for $TARGETARCH" >&2; exit 1 ;; \
    esac; \
    rustup target add "$cpu-unknown-linux-gnu"; \
    echo "$cpu-unknown-linux-gnu" > /target; \
    if [ "$TARGETARCH" != "$(dpkg --print-architecture)" ]; then \
        apt-get update; \
        apt-get install --yes --no-install-recommends "$gcc" "libc6-dev-$TARGETARCH-cross"; \
    fi
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,id=gyre-host-$TARGETARCH,target=/build \
    target="$(cat /target)"; \
    cargo build --locked --profile image --package gyre --bin gyre --no-default-features --target "$target"; \
    mkdir -p /out; \
    cp "/build/$target/image/gyre" /out/gyre

# Compiles the plugins to machine code, so this runs on the image's own architecture. An emulator may not have the address space that it
# takes: with PRECOMPILE=no the host compiles them when it starts, which takes a second. That the program starts at all shows that what
# it links to is there.
FROM ${DEBIAN_IMAGE} AS code
ARG PRECOMPILE=yes
SHELL ["/bin/sh", "-euc"]
COPY --from=host /out/gyre /gyre
COPY --from=plugins /out/plugins /plugins
RUN /gyre --version; \
    mkdir -p /compiled /cache; \
    if [ "$PRECOMPILE" = yes ]; then \
        /gyre compile --code-cache /compiled /plugins/*.wasm; \
        chmod -R a+rX /compiled; \
    fi

FROM ${BASE_IMAGE}
ARG BASE_IMAGE
LABEL org.opencontainers.image.title="gyre" \
    org.opencontainers.image.description="Kubernetes reconcilers as sandboxed WebAssembly plugins" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.base.name="${BASE_IMAGE}"
COPY LICENSE /LICENSE
COPY --from=host /out/gyre /gyre
COPY --from=plugins /out/plugins /plugins
# The host loads compiled code from files of root's, or of its own user. A volume for that of other plugins does not hide this.
COPY --from=code /compiled /compiled
COPY --from=code --chown=65532:65532 /cache /var/cache/gyre
ENV GYRE_COMPILED=/compiled GYRE_CODE_CACHE=/var/cache/gyre
USER 65532:65532
EXPOSE 2112
ENTRYPOINT ["/gyre"]
# Those that succeed echoperator. The others take permissions, and some CustomResourceDefinitions, that not everybody gives.
CMD ["run", "/plugins/echo.wasm", "/plugins/scheduled_echo.wasm"]
