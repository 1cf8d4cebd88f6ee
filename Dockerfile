# `nolana serve` as an image: docker build -t nolana-serve .
FROM python:3.13-slim AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# all: an image for any machine of its architecture; native: for machines like this one
ARG BUILDS=all
ENV NOLANA_BUILDS=$BUILDS NOLANA_REQUIRE_CORE=1
RUN python -m venv /opt/nolana \
    && /opt/nolana/bin/pip install --no-cache-dir ".[cli,serve]"

FROM python:3.13-slim
RUN useradd --uid 10001 --no-create-home nolana \
    && install --directory --owner=nolana /data
COPY --from=build /opt/nolana /opt/nolana
ENV PATH=/opt/nolana/bin:$PATH OPENBLAS_NUM_THREADS=1
USER 10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=6s --start-period=60s \
    CMD ["/opt/nolana/bin/python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=5)"]
ENTRYPOINT ["nolana", "serve", "/data/model.nolana", "--log", "/data/log", "--host", "0.0.0.0"]
CMD ["--token-file", "/run/secrets/token"]
