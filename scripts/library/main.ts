import { buildLibrary } from './build.js';

await buildLibrary();
