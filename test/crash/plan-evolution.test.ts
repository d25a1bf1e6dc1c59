import { crashMatrix } from './crash-matrix.js';

crashMatrix('planEvolution');
