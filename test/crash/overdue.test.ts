import { crashMatrix } from './crash-matrix.js';

crashMatrix('overdue');
