# A crawl in a container: built from the lock alone, run by a user without rights, one volume.
#
#     docker build --tag centime .
#     docker run --volume museum:/crawl centime crawl museum https://museum.example/ --continuous --rate 20000/d
#
# docs/operations.md says what is checked here and how.
FROM python:3.11-slim
COPY pyproject.toml README.md LICENSE program.lock /src/
COPY src /src/src
RUN python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes -r /src/program.lock \
    && python -m pip install --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation /src \
    && rm -r /src \
    && useradd --create-home centime && mkdir /crawl && chown centime /crawl
USER centime
# Compiles the kernels once, and fails if the program does not work.
RUN centime demo --no-serve --pages 200 --out /tmp/demo && rm -r /tmp/demo
# The secret by which crawls are known as one's own is in the volume too: it outlives the container.
ENV XDG_STATE_HOME=/crawl/.state
VOLUME /crawl
WORKDIR /crawl
STOPSIGNAL SIGINT
ENTRYPOINT ["centime"]
CMD ["crawl", "museum", "--json", "--log", "/dev/stderr", "--log-format", "json"]
