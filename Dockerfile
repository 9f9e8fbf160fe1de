# The worker and the command `newsburst`; Kafka and Postgres are services beside it (docker-compose.yml).
FROM python:3.11-slim

WORKDIR /app
COPY requirements.lock pyproject.toml README.md LICENSE ./
# Only what the product runs on is installed: the lock file also pins the tests' and the embedded services' packages.
COPY pipeline pipeline
COPY agents agents
COPY migrations migrations
RUN grep -v -- '--hash' requirements.lock | sed 's/ *\\$//' >constraints.txt \
    && pip install --no-cache-dir --constraint constraints.txt '.[fast]' \
    && useradd --system newsburst
# Kernels are compiled at the first start of a container, and kept here.
ENV NUMBA_CACHE_DIR=/tmp/numba
USER newsburst
ENTRYPOINT ["newsburst"]
CMD ["worker"]
