// SPDX-License-Identifier: BSD-2-Clause
// Asks the payment API, as an application does.
module.exports = async function pay(body) {
  const answer = await fetch(process.env.UPSTREAM + "/charges", {
    method: "POST", body: JSON.stringify(body),
    headers: { "Content-Type": "application/json" },
    signal: AbortSignal.timeout(1000 * Number(process.env.PATIENCE_S)),
  });
  return { status: answer.status, body: await answer.json() };
};
