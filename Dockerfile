# The worker and the command `newsburst`; Kafka and Postgres are services beside it (docker-compose.yml).
FROM python:3.11-slim AS build
WORKDIR /src
RUN python -m venv /opt/newsburst
COPY requirements-worker.lock ./
# Every package is one of those that the lock file has a checksum of.
RUN /opt/newsburst/bin/pip install --no-cache-dir --quiet --require-hashes -r requirements-worker.lock
COPY pyproject.toml README.md LICENSE ./
COPY pipeline pipeline
COPY agents agents
COPY migrations migrations
COPY samples samples
RUN /opt/newsburst/bin/pip install --no-cache-dir --quiet --no-deps --no-build-isolation .

FROM python:3.11-slim
COPY --from=build /opt/newsburst /opt/newsburst
# Kernels are compiled at the first start of a container, and kept here.
ENV PATH=/opt/newsburst/bin:$PATH PYTHONUNBUFFERED=1 NUMBA_CACHE_DIR=/tmp/numba
RUN useradd --system --uid 10001 --no-create-home newsburst
WORKDIR /tmp
USER newsburst
ENTRYPOINT ["newsburst"]
CMD ["worker"]
