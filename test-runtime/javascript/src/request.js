// A request: the price of an order, in hundredths of a cent.
JSON.parse(input).lines.reduce((sum, line) => {
    const product = products.get(line.product);
    return sum + line.count * product.price * (100 - line.discount);
}, 0)
