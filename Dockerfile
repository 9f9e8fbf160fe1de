# The worker, the pages and the command `newsburst`; Kafka and Postgres are services beside it (docker-compose.yml).
ARG PYTHON=python:3.11-slim

FROM ${PYTHON} AS build
WORKDIR /src
RUN python -m venv --without-pip /opt/newsburst && python -m venv /opt/tools
COPY requirements-build.lock requirements-worker.lock ./
# Every package is one of those that the lock files have a checksum of.
RUN /opt/tools/bin/pip install --no-cache-dir --quiet --require-hashes -r requirements-build.lock \
    && /opt/tools/bin/pip --python /opt/newsburst/bin/python install --no-cache-dir --quiet --require-hashes -r requirements-worker.lock
COPY pyproject.toml README.md LICENSE LICENSE-UNICODE NOTICE ./
COPY pipeline pipeline
COPY agents agents
COPY migrations migrations
COPY samples samples
RUN /opt/tools/bin/pip --python /opt/newsburst/bin/python install --no-cache-dir --quiet --no-deps --no-build-isolation . \
    || (/opt/tools/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /wheels . \
        && /opt/tools/bin/pip --python /opt/newsburst/bin/python install --no-cache-dir --quiet --no-deps /wheels/*.whl)
# Kernels are compiled once, here, instead of at the first start of each container, which takes 18 to 90 s.
COPY deploy/entrypoint /opt/newsburst/bin/entrypoint
RUN cd /opt/newsburst && PATH=/opt/newsburst/bin:$PATH KERNELS=/opt/newsburst/kernels entrypoint python -m pipeline.warm_up \
    && /opt/tools/bin/cyclonedx-py environment --output-format JSON --output-file /opt/newsburst/sbom.json /opt/newsburst/bin/python \
    && ln -s lib/python3.*/site-packages/pipeline/samples samples

FROM ${PYTHON}
ARG VERSION=0 REVISION=unknown CREATED=unknown
LABEL org.opencontainers.image.title="newsburst" \
    org.opencontainers.image.description="Breaking news events from a stream of crawled stories: Kafka in, Kafka and Postgres out." \
    org.opencontainers.image.licenses="Apache-2.0 AND CC-BY-SA-4.0 AND Unicode-3.0" \
    org.opencontainers.image.version="${VERSION}" org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.created="${CREATED}"
COPY --from=build /opt/newsburst /opt/newsburst
ENV PATH=/opt/newsburst/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /tmp
USER 10001:10001
ENTRYPOINT ["entrypoint", "newsburst"]
CMD ["worker"]
