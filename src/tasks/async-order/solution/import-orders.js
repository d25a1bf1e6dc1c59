async function importOrders(orders, save) {
  const saved = [];
  const skipped = [];
  for (const order of orders) {
    if (order.cancelled === true || (order.lines ?? []).length === 0) {
      skipped.push(order.id);
      continue;
    }
    try {
      await save(order);
    } catch (error) {
      error.savedBefore = saved;
      throw error;
    }
    saved.push(order.id);
  }
  return { saved, skipped };
}

module.exports = { importOrders };
