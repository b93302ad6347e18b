// The data source of the grid: pages of groups or rows, which the service sorts and filters.
({ grid, url, keys, values, own }) => {
  const [FIRST, LETTER, BESIDE] = [30, 7.5, 36];
  const [WIDEST, WIDEST_NUMBER] = [300, 420];
  const tests = {
    contains: (value) => ({ contains: value }),
    equals: (value) => value,
    notEqual: (value) => ({ ne: value }),
    greaterThan: (value) => ({ gt: value }),
    greaterThanOrEqual: (value) => ({ gte: value }),
    lessThan: (value) => ({ lt: value }),
    lessThanOrEqual: (value) => ({ lte: value }),
    after: (value) => ({ gt: value }),
    before: (value) => ({ lt: value }),
    inRange: (value, last) => ({ between: [value, last] }),
    blank: () => null,
    notBlank: () => ({ ne: null }),
  };
  const parts = { a: "a", b: "b", g: "gap" };
  const column = (field) => {
    if (field === "status") return { column: "status" };
    const index = Number(field.slice(1));
    if (field[0] === "k") return { column: "key", of: keys[index] };
    return { column: parts[field[0]], of: values[index] };
  };
  const isNumber = (field) => window.getElement(grid).api.getColumnDef(field)?.type === "rightAligned";
  // The values of a filter are typed as its column shows them.
  const filter = (field, { type, filter, filterTo }) => {
    const read = isNumber(field) ? skillian.typed : skillian.read;
    return tests[type](...[filter, filterTo].map((each) => each && read(each)));
  };
  const row = (found) => {
    const cells = { key: found.key, status: found.status, rows_a: found.rows_a, rows_b: found.rows_b };
    keys.forEach((name, index) => (cells[`k${index}`] = found.key[name]));
    values.forEach((name, index) => {
      const each = (found.measures ?? found.cells)[name];
      cells[`s${index}`] = each?.status ?? (each?.differs ? "major_diff" : "match");
      if (!each) return; // the cells of a repeated key are not compared
      if (found.rows_a) cells[`a${index}`] = each.a;
      if (found.rows_b) cells[`b${index}`] = each.b;
      cells[`g${index}`] = each.gap;
      cells[`p${index}`] = each.percentage_diff;
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
      filter: filter(field, f),
    }));
    if (where.length) params.set("where", JSON.stringify(where));
    const { search } = request.context;
    const searched = search ? [skillian.read(search), ...skillian.numbers(search)] : [];
    new Set(searched).forEach((text) => params.append("search", text));
    return params;
  };
  // Columns are made wide enough for their first values, so that what differs is not cut off.
  const widen = (api) => {
    const nodes = [...Array(FIRST).keys()].map((index) => api.getDisplayedRowAtIndex(index)).filter((node) => node?.data);
    const widths = api.getAllGridColumns().flatMap((key) => {
      const texts = nodes.map((rowNode) => api.getCellValue({ rowNode, colKey: key, useFormatter: true }));
      const longest = Math.max(0, ...texts.map((text) => String(text ?? "").length));
      const most = isNumber(key.getColId()) ? WIDEST_NUMBER : WIDEST;
      const newWidth = Math.min(most, innerWidth / 3, BESIDE + LETTER * longest);
      return newWidth > key.getActualWidth() ? [{ key, newWidth }] : [];
    });
    if (widths.length) api.setColumnWidths(widths);
  };
  let counted;
  return {
    async getRows(request) {
      const fail = (error) => window.getElement(grid)?.$emit("failed", String(error.message));
      try {
        const params = query(request);
        const element = window.getElement(grid);
        element.download = (form) => {
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
        if (page.total !== counted) element.$emit("counted", page.total); // not at each page
        counted = page.total;
        const { api } = element;
        if (page.total) api.hideOverlay();
        else api.showNoRowsOverlay();
        if (!request.startRow) widen(api);
      } catch (error) {
        counted = undefined;
        const element = window.getElement(grid);
        if (!element) return; // the page is closed
        element.download = () => fail(error);
        if (request.startRow) request.failCallback();
        else request.successCallback([], 0); // not the rows of the former filter
        element.api?.hideOverlay();
        fail(error);
      }
    },
  };
}
