# The service, for people other than root. Built and run by: docker compose up --build
FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
RUN python -m venv /opt/skillian \
    && /opt/skillian/bin/pip install --no-cache-dir --disable-pip-version-check \
       -c constraints.txt '.[mysql,openai,postgres,python,service,skillian,web]'

FROM python:3.11-slim
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin skillian \
    && install --directory --owner=10001 --group=10001 /data
COPY --from=build /opt/skillian /opt/skillian
ENV PATH=/opt/skillian/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MPLCONFIGDIR=/tmp \
    SKILLIAN_HOST=0.0.0.0 \
    SKILLIAN_PORT=8000 \
    SKILLIAN_SOURCES=/etc/skillian/sources.yaml \
    DATABASE_URL=sqlite:////data/sessions.db
WORKDIR /data
VOLUME /data
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["skillian"]
CMD ["serve"]
