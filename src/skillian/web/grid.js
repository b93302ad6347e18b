// What AG Grid asks for, from the service's pages of groups: sorted and filtered there.
({ grid, url, keys, measures }) => {
  const number = {
    equals: (f) => f.filter,
    notEqual: (f) => ({ ne: f.filter }),
    greaterThan: (f) => ({ gt: f.filter }),
    greaterThanOrEqual: (f) => ({ gte: f.filter }),
    lessThan: (f) => ({ lt: f.filter }),
    lessThanOrEqual: (f) => ({ lte: f.filter }),
    inRange: (f) => ({ between: [f.filter, f.filterTo] }),
    blank: () => null,
    notBlank: () => ({ ne: null }),
  };
  const tests = { ...number, contains: (f) => ({ contains: f.filter }) };
  const parts = { a: "a", b: "b", g: "gap" };
  const column = (field) => {
    if (field === "status") return { column: "status" };
    const place = Number(field.slice(1));
    if (field[0] === "k") return { column: "key", of: keys[place] };
    return { column: parts[field[0]], of: measures[place] };
  };
  const row = (group) => {
    const found = { key: group.key, status: group.status, rows: `${group.rows_a} : ${group.rows_b}` };
    keys.forEach((name, place) => (found[`k${place}`] = group.key[name]));
    measures.forEach((name, place) => {
      const each = group.measures[name];
      found[`a${place}`] = each.a;
      found[`b${place}`] = each.b;
      found[`g${place}`] = each.gap;
      found[`p${place}`] = each.percentage_diff;
      found[`s${place}`] = each.status;
    });
    return found;
  };
  const query = (asked) => {
    const told = new URLSearchParams({ offset: asked.startRow, limit: asked.endRow - asked.startRow });
    asked.context.statuses.forEach((status) => told.append("status", status));
    const [order] = asked.sortModel;
    if (order) told.set("order", JSON.stringify({ ...column(order.colId), descending: order.sort === "desc" }));
    const where = Object.entries(asked.filterModel).map(([field, f]) => ({
      ...column(field),
      filter: tests[f.type](f),
    }));
    if (where.length) told.set("where", JSON.stringify(where));
    return told;
  };
  const fault = (text) => window.getElement(grid)?.$emit("fault", text);
  return {
    async getRows(asked) {
      try {
        const answer = await fetch(`${url}?${query(asked)}`);
        const told = await answer.json();
        if (!answer.ok) throw new Error(told.detail);
        asked.successCallback(told.rows.map(row), told.total);
        const { api } = window.getElement(grid);
        if (told.total) api.hideOverlay();
        else api.showNoRowsOverlay();
      } catch (error) {
        asked.failCallback();
        fault(String(error.message));
      }
    },
  };
}
