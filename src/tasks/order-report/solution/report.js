const fs = require('node:fs');

const customers = new Map();
for (const { id, customer, paid, items } of JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))) {
  const entry = customers.get(customer) ?? { customer, orders: 0, cents: 0, open: [] };
  customers.set(customer, entry);
  entry.orders += 1;
  if (paid) entry.cents += items.reduce((sum, { count, cents }) => sum + count * cents, 0);
  else entry.open.push(id);
}
const rows = [...customers.values()].sort((a, b) => b.cents - a.cents || (a.customer < b.customer ? -1 : 1));
for (const row of rows) row.open.sort((a, b) => a - b);
console.log(JSON.stringify(rows));
