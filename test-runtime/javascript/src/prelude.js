// What a service has in memory before its first request: 2,000 products by their codes.
const products = new Map();
for (let index = 0; index < 2000; index++) {
    const code = "P" + String(index * 7919 % 10007).padStart(5, "0");
    products.set(code, {
        code,
        name: "Product number " + index,
        price: 100 + index * 31 % 9973,
        size: { width: index % 70 + 1, height: index % 110 + 1 },
        tags: ["tag" + index % 13, "tag" + index % 17],
    });
}
