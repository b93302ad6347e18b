// Sends files to the service, each with its progress and a button that cancels it.
const NOT_UTF8 = /it is not UTF-8 text/;

export default {
  template: `
    <div class="drop-zone" :class="{ over }" @dragover.prevent="over = true" @dragleave="over = false" @drop.prevent="drop">
      <p class="drop-title">{{ replaces ? "Drop the new " + replaced + " here, or" : "Drop two files here, or" }}</p>
      <button type="button" :class="replaces ? 'plain-button' : 'drop-choose'" :aria-label="replaces ? 'Choose the new ' + replaced : null" @click="$refs.input.click()">{{ replaces ? "Choose a file" : "Choose files" }}</button>
      <input ref="input" type="file" :multiple="!replaces" hidden :accept="suffixes.join(',')" @change="choose">
      <p class="soft small">{{ hint }}</p>
      <ul v-if="items.length" class="sending" aria-label="Files on their way">
        <li v-for="each in items" :key="each.number">
          <span class="sending-name">{{ each.name }}</span>
          <button type="button" class="plain-button" :aria-label="(each.fault ? 'Remove ' : 'Cancel ') + each.name" @click="cancel(each)">{{ each.fault ? "Remove" : "Cancel" }}</button>
          <button v-if="each.isForeign" type="button" class="plain-button sending-way" :aria-label="'Read ' + each.name + ' as Windows-1252'" @click="asWindows(each)">Read as Windows-1252</button>
          <progress v-if="!each.fault" :max="each.size || 1" :value="each.sent" :aria-label="'Progress of ' + each.name"></progress>
          <span class="sending-state small" :class="each.fault ? 'fault' : 'soft'" :role="each.fault ? 'alert' : 'status'">{{ state(each) }}</span>
        </li>
      </ul>
    </div>`,
  props: { url: String, options: String, suffixes: Array, maxBytes: Number, hint: String, replaces: String, replaced: String },
  emits: ["stored"],
  data: () => ({ items: [], over: false, number: 0, sent: {} }),
  mounted() {
    // A file that misses the zone would replace the page.
    for (const kind of ["dragover", "drop"]) window.addEventListener(kind, this.keep);
  },
  beforeUnmount() {
    for (const kind of ["dragover", "drop"]) window.removeEventListener(kind, this.keep);
    this.items.forEach((each) => each.request && each.request.abort());
  },
  methods: {
    keep: (event) => event.preventDefault(),
    drop(event) {
      this.over = false;
      this.add(event.dataTransfer.files);
    },
    choose(event) {
      this.add(event.target.files);
      event.target.value = "";
    },
    add(files) {
      for (const file of this.replaces ? [...files].slice(0, 1) : files) {
        const item = { number: this.number++, name: file.name, size: file.size, sent: 0, fault: "" };
        if (file.size > this.maxBytes) {
          item.fault = `It has ${this.megabytes(file.size)}, and a file can have ${this.megabytes(this.maxBytes)}.`;
        }
        this.items.push({ ...item, file: Vue.markRaw(file), options: this.options, isWaiting: !item.fault, replaces: this.replaces });
      }
      this.next();
    },
    // Sends a workbook again, to read another one of its sheets.
    again(id, sheet) {
      const file = this.sent[id];
      const options = new URLSearchParams(this.options);
      options.set("sheet", sheet);
      const item = { number: this.number++, name: file.name, size: file.size, sent: 0, fault: "" };
      this.items.push({ ...item, file, options: options.toString(), isWaiting: true, replaces: id });
      this.next();
    },
    // Sends a refused text again, which is as most programs without UTF-8 write.
    asWindows(item) {
      const options = new URLSearchParams(item.options);
      options.set("encoding", "cp1252");
      Object.assign(item, { fault: "", sent: 0, isForeign: false, isWaiting: true, options: options.toString() });
      this.next();
    },
    // A file is sent when the one before it is stored, so that the first of a pair stays the first.
    next() {
      const item = this.items.find((each) => each.isWaiting);
      if (!item || this.items.some((each) => each.isSending)) return;
      item.isWaiting = false;
      item.isSending = true;
      this.send(item, item.file);
    },
    release(item) {
      item.isSending = false;
      this.next();
    },
    send(item, file) {
      const request = new XMLHttpRequest();
      item.request = Vue.markRaw(request);
      request.upload.onprogress = (event) => (item.sent = event.loaded);
      request.upload.onload = () => (item.sent = item.size);
      request.onloadend = () => this.release(item);
      request.onload = () => {
        if (request.status === 201 || request.status === 200) {
          this.remove(item);
          const id = JSON.parse(request.responseText).id;
          this.sent[id] = file;
          this.$emit("stored", { id });
        } else {
          item.fault = this.reason(request);
          item.isForeign = NOT_UTF8.test(item.fault);
          if (item.isForeign) item.fault = `${item.fault.split(";")[0]}. Many files that Excel or older programs write are Windows-1252.`;
        }
      };
      request.onerror = () => (item.fault = "The connection failed. Choose the file again.");
      const query = `name=${encodeURIComponent(file.name)}&options=${encodeURIComponent(item.options)}`;
      if (item.replaces) request.open("PUT", `${this.url}/${item.replaces}?${query}`);
      else request.open("POST", `${this.url}?${query}`);
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.send(file);
    },
    reason(request) {
      try {
        return JSON.parse(request.responseText).detail;
      } catch {
        return "The server does not take this file.";
      }
    },
    cancel(item) {
      if (item.request) item.request.abort();
      this.remove(item);
    },
    remove(item) {
      this.items = this.items.filter((each) => each.number !== item.number);
    },
    megabytes: (bytes) =>
      bytes < 1e5 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toLocaleString(navigator.language, { maximumFractionDigits: bytes < 1e7 ? 1 : 0 })} MB`,
    state(item) {
      if (item.fault) return item.fault;
      if (item.isWaiting) return "Waiting …";
      if (item.sent >= item.size) return "Reading the file …";
      return `${this.megabytes(item.sent)} of ${this.megabytes(item.size)}`;
    },
  },
};
