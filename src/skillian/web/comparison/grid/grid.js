// The data source of the grid: pages of groups or rows, which the service sorts and filters.
({ grid, url, keys, values, own }) => {
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
    const index = Number(field.slice(1));
    if (field[0] === "k") return { column: "key", of: keys[index] };
    return { column: parts[field[0]], of: values[index] };
  };
  const row = (found) => {
    const cells = { key: found.key, status: found.status, rows_a: found.rows_a, rows_b: found.rows_b };
    keys.forEach((name, index) => (cells[`k${index}`] = found.key[name]));
    values.forEach((name, index) => {
      const each = (found.measures ?? found.cells)[name];
      cells[`a${index}`] = each.a;
      cells[`b${index}`] = each.b;
      cells[`g${index}`] = each.gap;
      cells[`p${index}`] = each.percentage_diff;
      cells[`s${index}`] = each.status ?? (each.differs ? "major_diff" : "match");
    });
    own.forEach((name, index) => (cells[`o${index}`] = found.own?.[name]));
    return cells;
  };
  // Which rows, and in which order: the same for the grid and for a file.
  const query = (request) => {
    const params = new URLSearchParams();
    request.context.statuses.forEach((status) => params.append("status", status));
    const [order] = request.sortModel;
    if (order) params.set("order", JSON.stringify({ ...column(order.colId), descending: order.sort === "desc" }));
    const where = Object.entries(request.filterModel).map(([field, f]) => ({
      ...column(field),
      filter: tests[f.type](f),
    }));
    if (where.length) params.set("where", JSON.stringify(where));
    if (request.context.search) params.set("search", request.context.search);
    return params;
  };
  let counted;
  const fail = (message) => window.getElement(grid)?.$emit("failed", message);
  return {
    async getRows(request) {
      try {
        const params = query(request);
        window.getElement(grid).download = (form) => {
          const link = document.createElement("a");
          link.href = `${url}.${form}?${params}`;
          link.download = "";
          link.click();
        };
        const lines = { offset: request.startRow, limit: request.endRow - request.startRow };
        const response = await fetch(`${url}?${new URLSearchParams([...params, ...Object.entries(lines)])}`);
        const page = await response.json();
        if (!response.ok) throw new Error(page.detail);
        request.successCallback(page.rows.map(row), page.total);
        const element = window.getElement(grid);
        if (page.total !== counted) element.$emit("counted", page.total); // not at each page
        counted = page.total;
        const { api } = element;
        if (page.total) api.hideOverlay();
        else api.showNoRowsOverlay();
      } catch (error) {
        request.failCallback();
        fail(String(error.message));
      }
    },
  };
}
