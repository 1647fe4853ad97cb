# Touchstone with all engines. Measures the overview, and leaves records and page in the volume:
#   docker build -t touchstone . && docker run -v "$PWD/results:/results" touchstone
# Other commands: docker run -v "$PWD:/results" touchstone touchstone run module.wasm --call f
# Write faults and PAGEMAP_SCAN need no privilege; the log of page faults needs CAP_PERFMON:
# docker run --cap-add=PERFMON …
FROM rust:1.95-trixie AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-pip make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /touchstone
COPY . .
RUN make dist && mkdir /opt/touchstone \
    && tar -xzf target/dist/*.tar.gz -C /opt/touchstone --strip-components=1

FROM debian:trixie-slim
COPY --from=build /opt/touchstone /opt/touchstone
ENV PATH="/opt/touchstone/bin:$PATH"
WORKDIR /results
CMD ["touchstone", "bench", "--overview", "--sampling", "quick", "--records", "records.jsonl", "--report"]
