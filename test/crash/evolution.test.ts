import { crashMatrix } from './crash-matrix.js';

crashMatrix('evolution');
