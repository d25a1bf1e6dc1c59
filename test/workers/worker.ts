import { BUCKET, KEYS, REGION } from '../object-store/s3-server.js';
import { agents, prices } from './agents.js';
import { work } from './work.js';

const { EXPORT_STORE: endpoint, EXPORT_DIR: exportDir } = process.env;
await work({
  ...{ agents, prices, tenants: JSON.parse(process.env['TENANTS'] ?? '{}') },
  ...(endpoint === undefined
    ? {}
    : { exportBuckets: [`s3://${BUCKET}/exports`], objectStore: { endpoint, region: REGION, ...KEYS } }),
  ...(exportDir === undefined ? {} : { exportDir }),
});
