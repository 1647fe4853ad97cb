bench:
	cargo bench --features=all
