import { aStoreFile } from '../support/store-files.js';
import { describeSessionStore } from './contract.js';

describeSessionStore('SQLite', aStoreFile);
