async function importOrders(orders, save) {
  const saved = [];
  const skipped = [];
  orders.forEach(async (order) => {
    if (order.lines.length === 0) {
      skipped.push(order.id);
      return;
    }
    try {
      await save(order);
      saved.push(order.id);
    } catch (error) {
      console.log(error.message);
    }
  });
  return { saved, skipped };
}

module.exports = { importOrders };
