# Builds all engines and measures the overview: docker build -t touchstone . && docker run touchstone
# Write faults and PAGEMAP_SCAN need no privilege; the log of page faults needs CAP_PERFMON:
# docker run --cap-add=PERFMON touchstone
FROM rust:1.95-trixie
RUN apt-get update && apt-get install -y --no-install-recommends python3-pip make && rm -rf /var/lib/apt/lists/*
WORKDIR /touchstone
COPY . .
RUN make tools && cargo build --locked --release --features=all
CMD ["make", "quick"]
