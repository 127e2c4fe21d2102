import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.security.OpenSearchSecurityPlugin;

/** One node of OpenSearch with its security plugin, without the scripts and the layout of a distribution. Its argument is the folder with config/opensearch.yml. */
public final class KlutchSearch extends Node {
  private KlutchSearch(Environment environment) {
    super(environment, List.of(OpenSearchSecurityPlugin.class), false);
  }

  public static void main(String[] arguments) throws Exception {
    Path home = Path.of(arguments[0]).toAbsolutePath();
    Settings settings = Settings.builder().put("path.home", home.toString()).build();
    KlutchSearch node =
        new KlutchSearch(
            InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), home.resolve("config"), () -> "klutch"));
    Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node)));
    node.start();
    // All its threads are daemons, with which Java would end.
    new CountDownLatch(1).await();
  }

  private static void close(Node node) {
    try {
      node.close();
    } catch (java.io.IOException failure) {
      failure.printStackTrace();
    }
  }
}
