// Runs Netron's own reader without its page and prints the number of nodes: node netron.mjs FOLDER_OF_NETRON MODEL.
import * as fs from 'fs';
import * as path from 'path';
import { pathToFileURL } from 'url';

const [folder, file] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(folder, name)));
globalThis.window = globalThis;
const view = await load('view.js');
const { FileStream } = await load('node.js');
const read = (name) => fs.promises.readFile(path.join(folder, name), 'utf-8');
const fail = (error) => { throw error; };
const host = { environment: () => undefined, exception: fail, event: () => {}, require: (id) => load(`${id}.js`), asset: read, request: read };
const { size, mtimeMs } = fs.statSync(file);
const context = {
    identifier: path.basename(file), name: path.basename(file), entries: new Map(), stream: new FileStream(file, 0, size, mtimeMs),
    request: () => fail(new Error('there is no such file')), asset: host.asset, require: host.require, error: fail,
};
const model = await new view.ModelFactoryService(host).open(context);
const graphs = model.modules ?? model.graphs;
console.log(graphs.reduce((count, graph) => count + graph.nodes.length, 0));
