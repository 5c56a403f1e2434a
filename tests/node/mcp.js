// SPDX-License-Identifier: BSD-2-Clause
// The MCP of the npm registry over HTTP.
//   node mcp.js serve              a server with one tool, which pays; prints
//                                  its port, and a line for each payment
//   node mcp.js pay URL KEY=AMOUNT...
//                                  a client that pays, and prints what it was
//                                  told of each, in one session
'use strict';
const http = require('http');
const {Client} = require('@modelcontextprotocol/sdk/client/index.js');
const {StreamableHTTPClientTransport} =
  require('@modelcontextprotocol/sdk/client/streamableHttp.js');
const {Server} = require('@modelcontextprotocol/sdk/server/index.js');
const {StreamableHTTPServerTransport} =
  require('@modelcontextprotocol/sdk/server/streamableHttp.js');
const {CallToolRequestSchema} = require('@modelcontextprotocol/sdk/types.js');

let paid = 0;

function tools() {
  const server = new Server({name: 'shop', version: '1'},
      {capabilities: {tools: {}}});
  server.setRequestHandler(CallToolRequestSchema, async (request) => {
    console.log(JSON.stringify(request.params.arguments));
    return {content: [{type: 'text', text: `pay_${++paid}`}]};
  });
  return server;
}

function serve() {
  const server = http.createServer(async (request, response) => {
    if (request.method !== 'POST')
      return response.writeHead(405).end();
    const transport = new StreamableHTTPServerTransport(
        {sessionIdGenerator: undefined, enableJsonResponse: true});
    await tools().connect(transport);
    return transport.handleRequest(request, response);
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
}

async function pay(url, payments) {
  const client = new Client({name: 'agent', version: '1'});
  await client.connect(new StreamableHTTPClientTransport(new URL(url),
      {requestInit: {headers: {Authorization: 'Bearer alice'}}}));
  const told = [];
  for (const payment of payments) {
    const [key, amount] = payment.split('=');
    const meta = {'idempotency-key': key};
    try {
      const result = await client.callTool(
          {name: 'pay', arguments: {meta, amount: Number(amount)}},
          undefined, {timeout: 20000});
      told.push(result.content[0].text);
    } catch (error) {
      told.push(String(error.code));
    }
  }
  console.log(JSON.stringify(told));
  await client.close();
}

const [what, url, ...payments] = process.argv.slice(2);
if (what === 'serve')
  serve();
else
  pay(url, payments);
